import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.requestreply.ReplyingKafkaTemplate;
import org.springframework.kafka.support.TopicPartitionOffset;

/** Asks twice as a Spring service would and prints both replies. Arguments: brokers, questions, replies, partition or "shared". */
public class Ask {
    public static void main(String[] given) throws Exception {
        String brokers = given[0], questions = given[1], replies = given[2], partition = given[3];
        boolean shared = partition.equals("shared");
        var properties = shared
            ? new ContainerProperties(replies)
            : new ContainerProperties(new TopicPartitionOffset(replies, Integer.parseInt(partition)));
        properties.setGroupId("spring-" + UUID.randomUUID());
        var consumers = new DefaultKafkaConsumerFactory<String, String>(Map.of(
            "bootstrap.servers", brokers, "isolation.level", "read_committed", "auto.offset.reset", "earliest",
            "key.deserializer", StringDeserializer.class, "value.deserializer", StringDeserializer.class));
        var producers = new DefaultKafkaProducerFactory<String, String>(Map.of(
            "bootstrap.servers", brokers,
            "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class));
        var template = new ReplyingKafkaTemplate<String, String, String>(
            producers, new KafkaMessageListenerContainer<>(consumers, properties));
        template.setSharedReplyTopic(shared);
        template.setDefaultReplyTimeout(Duration.ofSeconds(30));
        template.start();
        if (!template.waitForAssignment(Duration.ofSeconds(30))) throw new IllegalStateException("no assignment");
        for (int number = 0; number < 2; number++) {
            String id = UUID.randomUUID().toString();
            String question = "{\"question_id\":\"" + id + "\",\"tenant_id\":\"" + new UUID(0, 1) + "\",\"question\":\"plan\"}";
            var reply = template.sendAndReceive(new ProducerRecord<>(questions, id, question)).get(40, TimeUnit.SECONDS);
            System.out.println(id + " " + reply.partition() + " " + reply.value());
        }
        template.stop();
        System.exit(0);
    }
}
